"""Which words share a window that slides over texts."""

from __future__ import annotations

import numpy as np

from spherevec.compiling import njit


@njit(cache=True, nogil=True)
def count_windows(ids, offsets, window, together):
    """Count in together (w, w) the windows that hold each pair of words, and on its diagonal each word.

    ids (n,) are the words of all texts, −1 where a word does not count; text i is offsets[i] : offsets[i + 1]. A text
    shorter than a window is one window, as is every text with window 0. As in gensim, a word that leaves a window at
    its edge counts as gone until it enters again, even where the window still holds it. Returns the number of windows.
    """
    n_words = together.shape[0]
    inside = np.zeros(n_words, np.bool_)
    present = np.empty(n_words, np.int64)
    total = 0
    for text in range(len(offsets) - 1):
        start, end = offsets[text], offsets[text + 1]
        if start == end:
            continue
        width = end - start if window == 0 or window > end - start else window
        n_present = 0
        for last in range(start, end):
            # The first window of a text is taken as a whole; then one word leaves and one enters at each step.
            if last - start >= width:
                gone = ids[last - width]
                if gone >= 0 and inside[gone]:
                    inside[gone] = False
                    for i in range(n_present):
                        if present[i] == gone:
                            n_present -= 1
                            present[i] = present[n_present]
                            break
            word = ids[last]
            if word >= 0 and not inside[word]:
                inside[word] = True
                present[n_present] = word
                n_present += 1
            if last - start + 1 < width:
                continue
            total += 1
            for i in range(n_present):
                for j in range(i + 1):
                    together[present[i], present[j]] += 1
                    if i != j:
                        together[present[j], present[i]] += 1
        for i in range(n_present):
            inside[present[i]] = False
    return total
