const BAD_REQUEST = [6, 7, 25, 26, 27, 38, 41, 43, 44, 53, 62, 72, 117, 167, 168, 306, 354, 441, 456, 467]
const FORBIDDEN = [164, 192, 193, 497, 516]
const NOT_FOUND = [46, 47, 50, 56, 60, 63, 73, 81, 115, 132]
const TOO_LARGE = [307]
const UNAVAILABLE = [202, 209]
const NOT_IMPLEMENTED = [48, 344]

const STATUS = new Map<number, number>(
  (
    [
      [400, BAD_REQUEST],
      [403, FORBIDDEN],
      [404, NOT_FOUND],
      [413, TOO_LARGE],
      [501, NOT_IMPLEMENTED],
      [503, UNAVAILABLE],
    ] as const
  ).flatMap(([status, codes]) => codes.map((code) => [code, status])),
)

/**
 * Returns the HTTP status that ClickHouse's HTTP interface uses for an error code; 500 for unlisted codes. Unlike in
 * ClickHouse, a body that cannot be inflated (354) counts as a client error.
 */
export function statusOfError(code: number): number {
  return STATUS.get(code) ?? 500
}
