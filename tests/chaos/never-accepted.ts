/**
 * If at least this many requests of one kind were sent, at least one of them must succeed. Fewer requests may all
 * coincide with faults.
 */
const MANY = 10

/**
 * Finds kinds of which at least `MANY` requests were sent and none succeeded. A verdict excuses refusals during faults,
 * so without this check it would accept a service that refuses everything.
 */
export function neverAccepted(requests: readonly { readonly kind: string; readonly isAccepted: boolean }[]): string[] {
  return [...Map.groupBy(requests, ({ kind }) => kind)].flatMap(([kind, all]) =>
    all.length < MANY || all.some(({ isAccepted }) => isAccepted) ? [] : [`none of ${all.length} requests of the kind ${kind} succeeded`],
  )
}
