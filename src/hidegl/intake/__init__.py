"""From what the user has (files, data frames, texts, images, arrays) to rows, labels and an embedder."""
