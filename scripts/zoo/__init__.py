"""How the embedded zoo is made: data, networks, defences, generator, attack, measurements, files."""
