/** Nice value of the compiler's threads. Other threads have the nice value 0 and get three times as much CPU time. */
const COMPILER_NICE = 5

/**
 * JVM options that give requests priority over the compiler when both need a core. After a start, the optimising
 * compiler takes half a core for minutes, and requests on a machine with two cores would wait for it.
 *
 * On Linux, CompilerThreadPriority has an effect only together with ThreadPriorityPolicy. ThreadPriorityPolicy also
 * maps Java's thread priorities to nice values, but none of the servers sets thread priorities. A JVM that does not run
 * as root prints a warning that it cannot raise priorities, and continues.
 */
export const REQUESTS_BEFORE_COMPILER: readonly string[] = ['-XX:ThreadPriorityPolicy=1', `-XX:CompilerThreadPriority=${COMPILER_NICE}`]
