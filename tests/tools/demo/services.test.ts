import { expect, test } from 'vitest'
import { chosenServices, demoServices } from '../../../tools/demo/services.ts'

test('the demo plays all services, or only the named ones', () => {
  expect(chosenServices(demoServices, undefined)).toBe(demoServices)
  expect(chosenServices(demoServices, 'matches').map(({ name }) => name)).toEqual(['matches'])
  expect(chosenServices(demoServices, 'matches, fraud,matches').map(({ name }) => name)).toEqual(['matches', 'fraud'])
  expect(() => chosenServices(demoServices, ',')).toThrow('names no service')
  expect(() => chosenServices(demoServices, 'trends,nobody')).toThrow('nobody has no demo; choose from trends, matches, fraud')
})
