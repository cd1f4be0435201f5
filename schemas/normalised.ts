/**
 * Maximum number of marks in a row that are normalised together. Normalisation sorts each run of marks in a time that
 * grows with the square of its length, so half a million marks would take more than a minute. The Stream-Safe Text
 * Format (Unicode, UAX #15) has the same limit; no real text reaches it.
 */
const MOST_MARKS = 30
/** The combining grapheme joiner. It is invisible, and marks are never sorted across it. */
const JOINER = '\u034f'
const MARK = `[\\p{M}--${JOINER}]`
const MARKS = new RegExp(`${MARK}+`, 'gv')
const TOO_MANY_MARKS = new RegExp(`(${MARK}{${MOST_MARKS}})(?=${MARK})`, 'gv')

/**
 * Normalises text in a time that is linear in its length. If the text has more than 30 marks in a row, an invisible
 * joiner is inserted between every 30 of them and the next.
 */
export function normalised(text: string, form: 'NFC' | 'NFKC' | 'NFKD' = 'NFC'): string {
  return text.length > MOST_MARKS ? text.replaceAll(MARKS, shortRuns).normalize(form) : text.normalize(form)
}

function shortRuns(marks: string): string {
  return marks.length > MOST_MARKS ? marks.replaceAll(TOO_MANY_MARKS, `$1${JOINER}`) : marks
}
