// @ts-check

/**
 * Remembers the versions of cases that changes of this page have made. A change that waits for earlier changes of this
 * page must name the version that they make, even if its case is no longer open by then. It must not name a version that
 * somebody else has made since the user asked for the change, because the user may not have seen that version.
 */
export function ownChanges() {
  /**
   * The status of each version, keyed by transaction and version.
   * @type {Map<string, string>}
   */
  const made = new Map()
  const keyOf = (/** @type {string} */ transactionId, /** @type {number} */ version) => `${version} ${transactionId}`

  return {
    /**
     * @param {string} transactionId
     * @param {{ version: number, status: string }} change
     */
    add(transactionId, { version, status }) {
      made.set(keyOf(transactionId, version), status)
    },
    /**
     * Returns the version of a case after the changes that this page has made directly after a version, and the status
     * of the case. The status is undefined if there are no such changes.
     * @param {string} transactionId
     * @param {number} version the version that the user has seen
     */
    after(transactionId, version) {
      let newest = version
      while (made.has(keyOf(transactionId, newest + 1))) newest++
      return { version: newest, status: newest === version ? undefined : made.get(keyOf(transactionId, newest)) }
    },
    clear() {
      made.clear()
    },
  }
}
