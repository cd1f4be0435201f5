/**
 * A part ends by itself this long after its cart. This matters only for carts that were never opened, so it has to
 * leave time for opening the cart and for the record of the cart's end.
 */
export const PART_OUTLIVES_CART_MS = 60_000
/**
 * Minimum time between a cart's end and the end of its parts; a cart with less is not opened. A checkout that was sent
 * in time is decided within the 30 s for which a command is valid, and reaches the stock one commit later. The rest
 * allows for clock differences and for a commit that waits for a broker.
 */
export const CART_ENDS_BEFORE_PARTS_MS = 45_000
/**
 * Delay between the end of a cart or reservation and its expiry, because the clocks of a worker and of the broker
 * differ.
 */
export const EXPIRES_AFTER_MS = 1_000
