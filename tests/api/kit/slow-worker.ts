import { answerRequests } from '../../../api/kit/work-thread.ts'

export interface SlowRequest {
  readonly name: string
  readonly takesMs: number
  readonly fails?: boolean
}

/** Answers each request after blocking the thread for the given time. */
answerRequests(({ name, takesMs, fails }: SlowRequest) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, takesMs)
  if (fails) throw new Error('failed on purpose')
  return name
})
