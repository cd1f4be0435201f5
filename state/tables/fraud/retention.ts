/** How many days transactions, feedback and the results of shadow rules and challengers are kept. */
export const TRANSACTION_DAYS = 90
/** How many days features are kept. */
export const FEATURE_DAYS = 30
