"""What tries to refute a claimed radius, by forward passes alone or by attacks; and robust accuracy under attack.

Every witness is looked at again, by the model that the claim is about: :mod:`gfscore.attacks.witnesses`.
"""
