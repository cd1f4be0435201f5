import type { NearBy } from './vector-index.ts'

/** Data that the thread of an index receives when it starts. */
export interface IndexThreadData {
  readonly path: string
  readonly dimensions: number
  readonly roots: Float32Array<SharedArrayBuffer>
}

/** A search that the main thread requests. */
export interface SearchQuery {
  readonly id: number
  readonly vector: Float32Array
  readonly count: number
  readonly by: NearBy
  /** When the main thread stops waiting for the answer, on the clock that all threads share. */
  readonly deadlineMs: number
}

/** Reports that the index is open, or why it cannot be opened. */
export type IndexOpened = { readonly size: number } | { readonly refusal: string }

/** The outcome of a search. Each value belongs to the key at the same position. The best result comes first. */
export type SearchOutcome =
  | { readonly id: number; readonly keys: Uint32Array; readonly values: Float64Array }
  | { readonly id: number; readonly failure: string }
  /** The search was dropped, because its deadline had passed. */
  | { readonly id: number; readonly isLate: true }
