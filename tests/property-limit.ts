import fc from 'fast-check'

/**
 * Vitest cannot interrupt a property that is checked synchronously, and fast-check may shrink a large counterexample
 * for hours. After this time a property fails with the smallest counterexample found so far, or with none.
 */
const PROPERTY_TIMEOUT_MS = 5 * 60_000

fc.configureGlobal({ ...fc.readConfigureGlobal(), interruptAfterTimeLimit: PROPERTY_TIMEOUT_MS, markInterruptAsFailure: true })
