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
 * accept a connection before it can count again. Without this rule, if an address refuses only this process, for
 * example because of a firewall, the members at that address would be removed again and again.
 */
const ENDED_FOR_MS = 10_000
/** Maximum number of addresses that are remembered. Each member checks one address, so this limit is rarely reached. */
const MAX_KNOWN = 1_000
const HTTPS_PORT = 443
const HTTP_PORT = 80

type Answer = 'accepted' | 'refused' | 'none'
const NO_ANSWER: Promise<Answer> = Promise.resolve('none')

interface KnownAddress {
  /** When the last connection attempt began, monotonic ms. */
  askedAt: number
  answer: Promise<Answer>
  /** False if the address has never accepted a connection, or has been refusing connections for too long. */
  hasAccepted: boolean
  /** When the address began to refuse connections, monotonic ms; undefined while it accepts them. */
  refusedSince: number | undefined
}

/**
 * Returns a function that reports whether the process at an HTTP address has ended. The function returns true if the
 * address accepted a connection from this process earlier and has refused connections for at most `ENDED_FOR_MS`. This
 * normally means that no process listens there now. A machine that has failed or cannot be reached gives no answer, so
 * the function returns false.
 *
 * The address must have accepted a connection earlier, because some addresses do not lead from this machine to the
 * process that published them. For example, processes on other machines may have published their loopback addresses.
 */
export function endedProcesses(runtime: Pick<Runtime, 'monotonic' | 'setTimer'>): (address: string) => Promise<boolean> {
  const known = new Map<string, KnownAddress>()

  function addressOf(address: string): KnownAddress {
    const found = known.get(address)
    if (found !== undefined) return found
    if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value!)
    const added = { askedAt: Number.NEGATIVE_INFINITY, answer: NO_ANSWER, hasAccepted: false, refusedSince: undefined }
    known.set(address, added)
    return added
  }

  return async function hasEnded(address) {
    const one = addressOf(address)
    const now = runtime.monotonic()
    if (now - one.askedAt > ANSWER_MAX_AGE_MS) {
      one.askedAt = now
      one.answer = tryToConnect(address, runtime)
    }
    const answer = await one.answer
    if (answer === 'accepted') {
      one.hasAccepted = true
      one.refusedSince = undefined
    }
    if (answer !== 'refused' || !one.hasAccepted) return false
    one.refusedSince ??= runtime.monotonic()
    one.hasAccepted = runtime.monotonic() - one.refusedSince <= ENDED_FOR_MS
    return one.hasAccepted
  }
}

function tryToConnect(address: string, runtime: Pick<Runtime, 'setTimer'>): Promise<Answer> {
  const url = URL.parse(address)
  if (url === null) return NO_ANSWER
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
