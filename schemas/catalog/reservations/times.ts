/**
 * Time by which the reservation of a part outlasts its cart. Opening the cart uses up some of this time. The remaining
 * time must be long enough for the record that ends the cart to arrive, because a part should expire by itself only if
 * its cart was never opened.
 */
export const PART_OUTLIVES_CART_MS = 60_000
/**
 * Minimum time between a cart's end and the end of its parts. If less time is left, the cart is not opened. A checkout
 * that was sent in time is decided within the 30 s for which a command is valid, and reaches the stock one commit
 * later. The remaining time allows for clock differences and for a commit that waits for a broker.
 */
export const CART_ENDS_BEFORE_PARTS_MS = 45_000
/**
 * How long after its end a cart or reservation expires. The delay allows for the difference between the clocks of the
 * worker and the broker.
 */
export const EXPIRES_AFTER_MS = 1_000
