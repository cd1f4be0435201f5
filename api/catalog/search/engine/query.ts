/** A clause of the search server's query language. */
export type Query = { readonly [name: string]: unknown }
