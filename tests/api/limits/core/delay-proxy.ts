import { onTestFinished } from 'vitest'
import { answerProxy } from '../../../../bench/limits/answer-proxy.ts'

/** Starts a proxy between a client and Redis that can hold back replies. It closes when the test ends. */
export async function holdingProxy(redisUrl: string) {
  let isHolding = false
  let held: (() => void)[] = []
  const { url, close } = await answerProxy(redisUrl, (pass) => {
    if (isHolding) held.push(pass)
    else pass()
  })
  onTestFinished(close)
  return {
    url,
    hold() {
      isHolding = true
    },
    release() {
      isHolding = false
      for (const pass of held) pass()
      held = []
    },
  }
}
