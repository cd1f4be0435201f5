import fc from 'fast-check'

/**
 * Time limit of each property. Vitest cannot interrupt a synchronous property, and fast-check may shrink a large
 * counterexample for hours. After this time a property fails, with the smallest counterexample so far if there is one.
 */
const PROPERTY_TIMEOUT_MS = 5 * 60_000

fc.configureGlobal({ ...fc.readConfigureGlobal(), interruptAfterTimeLimit: PROPERTY_TIMEOUT_MS, markInterruptAsFailure: true })
