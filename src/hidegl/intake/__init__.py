"""Reading data of users (files, data frames, texts, images, arrays) into rows, labels and an embedder."""
