import type { StoreAccess } from './store.ts'

/**
 * Checks each use of a store. In the common case, where the same node uses the store again, the check is one
 * comparison.
 */
export interface StoreGuard {
  open(access: StoreAccess | undefined): void
  /**
   * Checks that the running node has declared the store. Methods for processors call this before they use the store.
   * @throws Error when the running node has not declared the store
   */
  check(): void
}

const OPEN_TO_ALL: StoreAccess = { node: undefined, admit() {} }
/** The access of a store that no node has declared. Such a store is never opened, so its first use fails. */
const NEVER_OPENED: StoreAccess = {
  node: {},
  admit(store) {
    throw new Error(`store ${store} is not open: name it in the \`stores\` of each processor, tick or handler that uses it`)
  },
}

export function storeGuard(store: string): StoreGuard {
  let access = NEVER_OPENED
  /** The node that used the store last. */
  let admitted: object | undefined

  return {
    open(given = OPEN_TO_ALL) {
      access = given
      admitted = undefined
    },
    check() {
      if (access.node === admitted) return
      access.admit(store)
      admitted = access.node
    },
  }
}
