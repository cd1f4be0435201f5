/**
 * Maximum number of consecutive marks that are normalised together. Normalisation sorts each run of marks, and the time
 * for this grows with the square of the run's length, so half a million marks would take more than a minute. The
 * Stream-Safe Text Format (Unicode, UAX #15) has the same limit; no real text reaches it.
 */
const MOST_MARKS = 30
/** The combining grapheme joiner. It is invisible, and marks are never sorted across it. */
const JOINER = '\u034f'
const MARK = `[\\p{M}--${JOINER}]`
const MARKS = new RegExp(`${MARK}+`, 'gv')
const TOO_MANY_MARKS = new RegExp(`(${MARK}{${MOST_MARKS}})(?=${MARK})`, 'gv')

/**
 * Normalises text in linear time. If the text has more than 30 consecutive marks, invisible joiners divide them into
 * groups of at most 30.
 */
export function normalised(text: string, form: 'NFC' | 'NFKC' | 'NFKD' = 'NFC'): string {
  return text.length > MOST_MARKS ? text.replaceAll(MARKS, shortRuns).normalize(form) : text.normalize(form)
}

function shortRuns(marks: string): string {
  return marks.length > MOST_MARKS ? marks.replaceAll(TOO_MANY_MARKS, `$1${JOINER}`) : marks
}
