/** A period in which a fault affected a part. Times are epoch ms. */
export interface Trouble {
  readonly from: number
  readonly to: number
}

export interface ApiTrouble extends Trouble {
  readonly api: number
  /**
   * True if the API was killed, false if it was suspended. A killed API is affected until it is ready again. A
   * suspended API answers its requests as soon as it is resumed.
   */
  readonly isKilled: boolean
}

export interface Inflicted {
  readonly apis: readonly ApiTrouble[]
  readonly redis: readonly Trouble[]
  readonly kafka: readonly Trouble[]
}

export interface FaultHands<F> {
  /** Applies the faults of a round. After each fault, the affected part is running again, but may not be ready yet. */
  inflict(faults: readonly F[]): Promise<Inflicted>
  /**
   * Returns whether a load balancer would send requests to an API. A load balancer notices a killed API, but not a
   * suspended one.
   */
  isReady(api: number): boolean
}

/** Records which parts were affected by faults during a round, and when. */
export function troubleLog() {
  const apis: ApiTrouble[] = []
  const redis: Trouble[] = []
  const kafka: Trouble[] = []

  async function during(list: Trouble[], incident: () => Promise<unknown>): Promise<void> {
    const from = Date.now()
    await incident()
    list.push({ from, to: Date.now() })
  }

  return {
    troubles: { apis, redis, kafka } satisfies Inflicted,
    /** Records that an API was affected from the given time until now. */
    apiTrouble: (api: number, from: number, isKilled: boolean) => void apis.push({ api, from, to: Date.now(), isKilled }),
    withoutRedis: (incident: () => Promise<unknown>) => during(redis, incident),
    withoutKafka: (incident: () => Promise<unknown>) => during(kafka, incident),
  }
}
