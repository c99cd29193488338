"""Words of three letters to make texts of a length from."""

WORDS = (
    "the", "and", "for", "you", "not", "are", "but", "all", "any", "can", "her", "was", "one", "our", "out", "day",
    "get", "has", "him", "his", "how", "man", "new", "now", "old", "see", "two", "way", "who", "boy", "did", "its",
    "let", "put", "say", "she", "too", "use", "act", "add", "age", "ago", "air", "arm", "art", "ask", "bad", "bag",
    "bar", "bed", "big", "bit", "box", "buy", "car", "cat", "cup", "cut", "dog", "dry", "ear", "eat", "egg", "end",
    "eye", "far", "few", "fit", "fly", "fun", "gas", "hat", "hit", "hot", "ice", "job", "key",
)
BYTES_PER_TOKEN = 4    # three letters and a space are about one token of any vocabulary, and exactly one of the router's estimate
