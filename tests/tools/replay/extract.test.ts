import { expect, test } from 'vitest'
import { extractTerms } from '../../../tools/replay/extract.ts'

test('hashtags keep their spelling, and digits alone are not a hashtag', () => {
  expect(extractTerms('#Sandy hits #NYC, #1 of #2012 #Sandy ＃台風 #a_b').hashtags).toEqual(['#Sandy', '#NYC', '#台風', '#a_b'])
})

test('phrases are two or three adjacent words, of which neither the first nor the last is a stop word', () => {
  expect(extractTerms('Hurricane Sandy approaches the East Coast').phrases).toEqual([
    'Hurricane Sandy',
    'Hurricane Sandy approaches',
    'Sandy approaches',
    'approaches the East',
    'East Coast',
  ])
})

test('a phrase may contain a stop word, but not at its ends', () => {
  expect(extractTerms('state of emergency').phrases).toEqual(['state of emergency'])
})

test('punctuation, links, mentions and hashtags end a phrase', () => {
  expect(extractTerms('power outage. Stay safe http://t.co/x1 friends @you family #now people').phrases).toEqual([
    'power outage',
    'Stay safe',
  ])
})

test('a text yields at most 20 phrases', () => {
  expect(extractTerms(Array.from({ length: 100 }, (_, i) => `word${i}x`).join(' ')).phrases).toHaveLength(20)
})
