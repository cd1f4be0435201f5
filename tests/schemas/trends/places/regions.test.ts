import { expect, test } from 'vitest'
import { pathOf, regionOf, regions } from '../../../../schemas/trends/places/regions.ts'

test('the 551 regions are the world, 50 countries and 500 cities', () => {
  const types = Object.groupBy(regions, (region) => region.type)
  expect(regions).toHaveLength(551)
  expect(types.Supername?.map((region) => region.woeid)).toEqual([1])
  expect(types.Country).toHaveLength(50)
  expect(types.Town).toHaveLength(500)
})

test('every woeid is unique, positive and fits into the signed 32-bit field of tweets', () => {
  const woeids = regions.map((region) => region.woeid)
  expect(new Set(woeids).size).toBe(woeids.length)
  expect(woeids.every((woeid) => woeid > 0 && woeid < 2 ** 31)).toBe(true)
})

test('cities belong to countries, and countries belong to the world', () => {
  for (const region of regions) {
    const path = pathOf(region.woeid)!
    expect(path[0]).toBe(region.woeid)
    expect(path.at(-1)).toBe(1)
    expect(path).toHaveLength({ Supername: 1, Country: 2, Town: 3 }[region.type])
    expect(path.slice(1).map((woeid) => regionOf(woeid)?.type)).toEqual(['Country', 'Supername'].slice(3 - path.length))
  }
})

test('New York and Soweto have the ids of the public list, and ids above 100,000,000 belong to cities', () => {
  expect(regionOf(2459115)).toMatchObject({ name: 'New York', country_code: 'US', parent: 23424977 })
  expect(regionOf(1587677)).toMatchObject({ name: 'Soweto', type: 'Town' })
  const others = regions.filter((region) => region.woeid > 100_000_000)
  expect(others.length).toBeGreaterThan(90)
  expect(others.every((region) => region.type === 'Town' && region.population > 0)).toBe(true)
})

test('no two cities of one country share a name', () => {
  const names = regions.map((region) => `${region.type} ${region.country_code} ${region.name}`)
  expect(new Set(names).size).toBe(names.length)
})

test('an unknown woeid has neither a path nor a region', () => {
  expect(pathOf(0)).toBeUndefined()
  expect(regionOf(-1)).toBeUndefined()
})
