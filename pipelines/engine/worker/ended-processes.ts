import { connect } from 'node:net'
import type { Runtime } from '../../../runtime/runtime.ts'

/** Time limit of a connection attempt. Without an answer, nothing is known about the process. */
const CONNECT_TIMEOUT_MS = 1_000
/**
 * How long an answer is reused. All group members of a process make their checks at the same moment, and often check
 * the same process. The time is shorter than the pause between the first and the second check of a process.
 */
const ANSWER_MAX_AGE_MS = 20
/**
 * How long an address that refuses connections counts as the address of an ended process. After this time, it must
 * accept a connection before it can count again. Otherwise, if an address refused only this process, for example
 * because of a firewall, its members would be removed again and again.
 */
const ENDED_FOR_MS = 10_000
const MAX_KNOWN = 1_000
const HTTPS_PORT = 443
const HTTP_PORT = 80

type Answer = 'accepted' | 'refused' | 'none'

/**
 * Returns a function that reports whether the process that listened at an HTTP address has certainly ended: the address
 * accepted a connection from this process earlier, and now its machine refuses connections, because no process listens
 * there any more. A machine that has failed or cannot be reached gives no answer, so nothing is known about its
 * processes.
 *
 * The condition that the address accepted a connection earlier excludes addresses that mean something else here. For
 * example, processes on other machines may have published their loopback addresses.
 */
export function endedProcesses(runtime: Pick<Runtime, 'monotonic' | 'setTimer'>): (address: string) => Promise<boolean> {
  /**
   * The addresses that have accepted a connection, and the monotonic time (ms) at which they began to refuse
   * connections.
   */
  const known = new Map<string, { refusedSince: number | undefined }>()
  const asked = new Map<string, { readonly at: number; readonly answer: Promise<Answer> }>()

  function answerOf(address: string): Promise<Answer> {
    const now = runtime.monotonic()
    const last = asked.get(address)
    if (last !== undefined && now - last.at <= ANSWER_MAX_AGE_MS) return last.answer
    const answer = tryToConnect(address, runtime)
    makeRoom(asked)
    asked.set(address, { at: now, answer })
    return answer
  }

  return async function hasEnded(address) {
    const answer = await answerOf(address)
    if (answer === 'accepted') {
      known.delete(address)
      makeRoom(known)
      known.set(address, { refusedSince: undefined })
    }
    const one = known.get(address)
    if (answer !== 'refused' || one === undefined) return false
    one.refusedSince ??= runtime.monotonic()
    if (runtime.monotonic() - one.refusedSince <= ENDED_FOR_MS) return true
    known.delete(address)
    return false
  }
}

/** Makes room for another entry, by removing the oldest entry if necessary. */
function makeRoom(entries: Map<string, unknown>): void {
  if (entries.size < MAX_KNOWN) return
  for (const [first] of entries) {
    entries.delete(first)
    return
  }
}

function tryToConnect(address: string, runtime: Pick<Runtime, 'setTimer'>): Promise<Answer> {
  const url = URL.parse(address)
  if (url === null) return Promise.resolve('none')
  const port = Number(url.port) || (url.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT)
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ''), port })
  const cancel = runtime.setTimer(CONNECT_TIMEOUT_MS, () => end('none'))
  function end(answer: Answer): void {
    cancel()
    socket.destroy()
    resolve(answer)
  }
  socket.on('connect', () => end('accepted'))
  socket.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED' ? 'refused' : 'none'))
  return promise
}
