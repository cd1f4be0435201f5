/** Days for which transactions, feedback and the results of shadow rules and challengers are kept. */
export const TRANSACTION_DAYS = 90
/** Features, which take most of the room. */
export const FEATURE_DAYS = 30
