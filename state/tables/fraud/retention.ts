/** Days for which transactions, feedback and the results of shadow rules and challengers are kept. */
export const TRANSACTION_DAYS = 90
/** Days for which features are kept. Features take most of the disk space. */
export const FEATURE_DAYS = 30
