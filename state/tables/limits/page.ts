/** Selects one page of a list. */
export interface Page {
  readonly offset: number
  readonly limit: number
}
