/**
 * Callers that reserve stock and then end or forget the reservation. They retry each request until they get an answer.
 */
import type { CartAction, InventoryAction, StockLine } from '../../../schemas/catalog/types.ts'
import { integer, pick, type Random } from '../../../tools/random/random.ts'

export const PRODUCTS = [7, 8, 9]
export const VARIANTS_PER_PRODUCT = 2
const WAREHOUSES = ['east', 'west']
const STOCK = 6
const LONGEST_PAUSE_MS = 4_000
/** Share of repetitions that are delayed by up to `longestRepeatMs`. */
const LONG_REPEAT_SHARE = 0.1

export interface Answered {
  /** False if no answer arrived, or only a server error. The caller then does not know the outcome of the request. */
  readonly isAnswered: boolean
  readonly reservationId?: string | undefined
  /** The whole answer, for comparisons. */
  readonly shown: string
}

export interface CartItem {
  readonly variant_id: number
  readonly quantity: number
  readonly warehouse_id?: string
}

/** The interface through which callers reach the stock. A repeated request has the same key. */
export interface Shop {
  change(key: string, action: InventoryAction, line: StockLine, reservationId: string | null): Promise<Answered>
  reserve(key: string, items: readonly CartItem[]): Promise<Answered>
  endCart(key: string, reservationId: string, action: Exclude<CartAction, 'OPEN'>): Promise<Answered>
  pause(ms: number): Promise<void>
}

export interface CallersOptions {
  /** Prefix of the idempotency keys, different for each round. */
  readonly name: string
  readonly callers: number
  /** Number of actions per caller. */
  readonly actions: number
  readonly longestRepeatMs: number
}

/** A request and its first answer. */
interface Request {
  readonly what: string
  ask(): Promise<Answered>
  readonly first: string
}

export interface Callers {
  /** Resolves when every caller has finished. */
  readonly done: Promise<unknown>
  readonly requests: readonly Request[]
  /** Repeats all requests, and describes those whose answers have changed. */
  repeatAll(): Promise<string[]>
}

/** Stocks the warehouses, and starts the callers. */
export function startCallers(shop: Shop, random: Random, { name, callers, actions, longestRepeatMs }: CallersOptions): Callers {
  const requests: Request[] = []
  let keys = 0

  /** Repeats a request with the same key until there is an answer. */
  async function insist(what: string, ask: (key: string) => Promise<Answered>): Promise<Answered> {
    const key = `${name}-${++keys}`
    for (;;) {
      const answer = await ask(key)
      if (answer.isAnswered) {
        requests.push({ what, ask: () => ask(key), first: answer.shown })
        return answer
      }
      await shop.pause(integer(random, random() < LONG_REPEAT_SHARE ? longestRepeatMs : LONGEST_PAUSE_MS))
    }
  }

  function change(action: InventoryAction, line: StockLine, reservationId: string | null = null): Promise<Answered> {
    return insist(`${action} of ${JSON.stringify(line)}`, (key) => shop.change(key, action, line, reservationId))
  }

  function drawLine(quantity: number): StockLine {
    const variant_id = pick(random, PRODUCTS) * 256 + 1 + integer(random, VARIANTS_PER_PRODUCT)
    return { variant_id, warehouse_id: pick(random, WAREHOUSES), quantity }
  }

  async function single(): Promise<void> {
    const line = drawLine(1 + integer(random, 3))
    const { reservationId } = await change('RESERVE', line)
    if (reservationId === undefined) return
    await shop.pause(integer(random, LONGEST_PAUSE_MS))
    const how = pick(random, ['DEDUCT', 'RELEASE', 'DEDUCT', 'forget'] as const)
    if (how === 'forget') return
    const some = 1 + integer(random, line.quantity)
    await change(how, { ...line, quantity: some }, random() < 0.7 ? reservationId : null)
    if (random() < 0.3) await change(how, { ...line, quantity: 1 }, reservationId)
  }

  const ENDINGS = [['CHECK_OUT'], ['RELEASE'], ['EXTEND', 'CHECK_OUT'], ['CHECK_OUT', 'RELEASE'], ['EXTEND', 'EXTEND'], []] as const

  async function cart(): Promise<void> {
    const items = Array.from({ length: 1 + integer(random, 4) }, () => {
      const { variant_id, warehouse_id } = drawLine(1)
      return { variant_id, quantity: 1 + integer(random, 2), ...(random() < 0.5 ? { warehouse_id } : {}) }
    })
    const { reservationId } = await insist(`cart of ${JSON.stringify(items)}`, (key) => shop.reserve(key, items))
    if (reservationId === undefined) return
    for (const action of pick(random, ENDINGS)) {
      await shop.pause(integer(random, LONGEST_PAUSE_MS))
      await insist(`${action} of ${reservationId}`, (key) => shop.endCart(key, reservationId, action))
    }
  }

  async function stockUp(): Promise<void> {
    await change(random() < 0.7 ? 'RECEIVE' : 'ADJUST', drawLine(1 + integer(random, 4)))
  }

  async function call(): Promise<void> {
    for (let action = 0; action < actions; action++) {
      await shop.pause(integer(random, LONGEST_PAUSE_MS))
      const chosen = random()
      await (chosen < 0.5 ? single() : chosen < 0.93 ? cart() : stockUp())
    }
  }

  async function start(): Promise<void> {
    for (const product of PRODUCTS)
      for (let variant = 1; variant <= VARIANTS_PER_PRODUCT; variant++)
        for (const warehouse_id of WAREHOUSES)
          await change('RECEIVE', { variant_id: product * 256 + variant, warehouse_id, quantity: STOCK })
    await Promise.all(Array.from({ length: callers }, call))
  }

  return {
    done: start(),
    requests,
    async repeatAll() {
      const again = await Promise.all(requests.map(({ ask }) => ask()))
      return requests.flatMap(({ what, first }, index) => {
        const { shown } = again[index]
        return shown === first ? [] : [`${what} got the answer ${shown} after ${first}`]
      })
    },
  }
}
