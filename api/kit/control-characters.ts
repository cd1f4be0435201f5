/** Matches control characters except the tab and the line breaks, which a text of several lines may contain. */
export const CONTROL = /[\p{Cc}--[\t\n\r]]/v
