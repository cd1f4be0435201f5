/**
 * Error replies by which Redis reports a temporary condition. Any other error reply shows a bug or a wrong
 * configuration, which no retry can fix. In a cluster, a script ends with `non local key` when it uses a key that it
 * has just deleted and whose slot is moving to another node: Redis then looks for the key on that node.
 */
const PASSING =
  /^(ERR Script attempted to access a non local key|LOADING|READONLY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|BUSY|OOM|MISCONF|NOREPLICAS|MOVED|ASK|UNBLOCKED|NOSCRIPT)\b/

/** Names of errors that show a bug in the program, which no retry can fix. Connection failures have different names. */
const BUGS: ReadonlySet<string> = new Set(['RangeError', 'TypeError', 'ReferenceError', 'SyntaxError'])

/**
 * Returns true if the same command may succeed later. Recognises error replies by name instead of class, because the
 * caller may use a different copy of ioredis.
 */
export function isPassingError({ name, message }: Error): boolean {
  return name === 'ReplyError' ? PASSING.test(message) : !BUGS.has(name)
}

/**
 * Error replies of a node that responds, but cannot use one slot because the cluster is moving it. MOVED is not among
 * them, because it may concern all slots of the node. After MOVED, the circuit opens, and its probe makes the client
 * find the new node of the slots.
 */
const ABOUT_SLOT = /^(ERR Script attempted to access a non local key|TRYAGAIN|ASK)\b/

/** Returns true if the error concerns only one slot, so that the node can still use its other slots. */
export function isAboutSlot({ name, message }: Error): boolean {
  return name === 'ReplyError' && ABOUT_SLOT.test(message)
}
