/**
 * Returns whether a number is a valid item id. Programs other than the API may write any 64-bit integer. The API
 * accepts only positive ids, so nobody could view, hide or report an item whose id is 0 or negative.
 */
export function isItemId(id: bigint): boolean {
  return id > 0n
}
