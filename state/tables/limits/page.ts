/** A part of a list that is read page by page. */
export interface Page {
  readonly offset: number
  readonly limit: number
}
