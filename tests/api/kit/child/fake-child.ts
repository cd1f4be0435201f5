import { ChildGone, type ChildLink } from '../../../../api/kit/child/link.ts'

/** A child process whose answers the test provides. */
export interface FakeChild extends ChildLink {
  readonly requests: { readonly kind: number; readonly body: Buffer; answer(body?: Buffer): void }[]
  /** Simulates a crash of the child. */
  crash(): void
  readonly isKilled: boolean
}

export function fakeChild(): FakeChild {
  const requests: FakeChild['requests'] = []
  const end = Promise.withResolvers<string>()
  const rejects = new Set<(error: Error) => void>()
  let isKilled = false
  function gone(how: string): void {
    for (const reject of rejects) reject(new ChildGone(how))
    end.resolve(how)
  }
  return {
    requests,
    request(kind, body) {
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
      rejects.add(reject)
      requests.push({ kind, body, answer: (given = Buffer.alloc(0)) => resolve(given) })
      return promise
    },
    kill() {
      isKilled = true
      gone('SIGKILL')
    },
    crash: () => gone('SIGSEGV'),
    ended: end.promise,
    get isKilled() {
      return isKilled
    },
  }
}
