import { integer, seededRandom } from '../../random/random.ts'
import { weightedPick, zipfWeights } from '../../random/weighted.ts'
import { type DemoPerson, nearby, POPULATION, personAt, suit } from './people.ts'

const SECOND_MS = 1_000
/** Number of users before the first swipe. It is large enough for the first swipes to find a target. */
const FIRST_PEOPLE = 40
/** Shares of later events in which a user appears, moves, or looks at received likes. Most other events are swipes. */
const APPEAR_SHARE = 0.1
const MOVE_SHARE = 0.15
const ANSWER_SHARE = 0.25
/**
 * Maximum distance between a user and the user's home, to the north or south and to the east or west. The API limits
 * moves of more than a kilometre to 20 an hour, so two successive places of a user are less than a kilometre apart.
 */
const WALK_KM = 0.3
const POPULARITY_EXPONENT = 0.7
/**
 * Number of draws after which a user moves if no draw found a target. Such a user has probably swiped nearly all
 * suitable users.
 */
const MAX_DRAWS = 30
/** Share of likes among the swipes on the least popular users, and among those on the most popular users. */
const LEAST_LIKED = 0.2
const MOST_LIKED = 0.8
/**
 * Share of likes among the swipes on users who are not part of the demo. It is high, so that visitors of the page see
 * matches.
 */
const VISITOR_LIKED = 0.7
const SUPER_LIKED = 0.05

export type Direction = 'LEFT' | 'RIGHT' | 'SUPER_LIKE'

export type DemoMatchEvent = {
  /** Epoch ms. */
  readonly at: number
  readonly person: DemoPerson
} & (
  | { readonly kind: 'appear' | 'move'; readonly place: { readonly lat: number; readonly lon: number } }
  | { readonly kind: 'swipe'; readonly target: DemoPerson; readonly direction: Direction }
  /** A user looks at received likes, and swipes back. */
  | { readonly kind: 'answer' }
)

export interface DemoMatches {
  /** Returns the next event; times never decrease. */
  next(): DemoMatchEvent
  /**
   * Returns the direction in which a user swipes another user, who may be a visitor outside the demo. The same two
   * users always give the same result.
   */
  opinion(person: DemoPerson, targetId: string): Direction
}

export interface DemoMatchOptions {
  readonly seed: number
  /** Events per second. */
  readonly rate: number
  /** Epoch ms. */
  readonly startAt: number
}

/**
 * Creates an endless stream of actions by users of the match feed. Equal options give equal streams. Swipes depend on
 * popularity: the most popular users get the most swipes and the most likes.
 */
export function demoMatches({ seed, rate, startAt }: DemoMatchOptions): DemoMatches {
  const random = seededRandom(seed)
  const drawTarget = weightedPick(zipfWeights(POPULATION, POPULARITY_EXPONENT))
  const people: DemoPerson[] = []
  const byId = new Map<string, DemoPerson>()
  /** Pairs of a swiper and a target that have already been swiped, each encoded as one number. */
  const swiped = new Set<number>()
  let at = startAt

  function next(): DemoMatchEvent {
    at += (-Math.log(1 - random()) * SECOND_MS) / rate
    const time = Math.floor(at)
    const chance = random()
    if (people.length < FIRST_PEOPLE || (chance < APPEAR_SHARE && people.length < POPULATION)) return appear(time)
    const person = people[integer(random, people.length)]
    if (chance < APPEAR_SHARE + MOVE_SHARE) return move(time, person)
    if (chance < APPEAR_SHARE + MOVE_SHARE + ANSWER_SHARE) return { at: time, kind: 'answer', person }
    const target = targetOf(person)
    if (target === undefined) return move(time, person)
    return { at: time, kind: 'swipe', person, target, direction: opinion(person, target.userId) }
  }

  function appear(time: number): DemoMatchEvent {
    const person = personAt(seed, people.length)
    people.push(person)
    byId.set(person.userId, person)
    return { at: time, kind: 'appear', person, place: person.home }
  }

  function move(time: number, person: DemoPerson): DemoMatchEvent {
    return { at: time, kind: 'move', person, place: nearby(person.home, WALK_KM, random) }
  }

  function targetOf(person: DemoPerson): DemoPerson | undefined {
    for (let draws = 0; draws < MAX_DRAWS; draws++) {
      const target: DemoPerson | undefined = people[drawTarget(random)]
      if (target === undefined || !suit(person, target)) continue
      const pair = person.index * POPULATION + target.index
      if (swiped.has(pair)) continue
      swiped.add(pair)
      return target
    }
    return undefined
  }

  function opinion(person: DemoPerson, targetId: string): Direction {
    const target = byId.get(targetId)
    const liked = target === undefined ? VISITOR_LIKED : LEAST_LIKED + (MOST_LIKED - LEAST_LIKED) * (1 - target.index / POPULATION)
    const chance = seededRandom(hashOf(`${seed} ${person.userId} ${targetId}`))()
    if (chance >= liked) return 'LEFT'
    return chance < liked * SUPER_LIKED ? 'SUPER_LIKE' : 'RIGHT'
  }

  return { next, opinion }
}

/** Returns the 32-bit FNV-1a hash of a string. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash
}
