// @ts-check

/**
 * Remembers the versions of cases that changes of this page have created. A change that waits for earlier changes of
 * this page must name the version that they create, even if its case is no longer open by then. It must not name a
 * version that somebody else has created since the user requested the change, because the user may not have seen that
 * version.
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
     * Returns the newest version of a case that changes of this page have created after a version, with no change by
     * somebody else in between, and the status of the case in the newest version. If there is no such change, returns
     * the given version, and no status.
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
