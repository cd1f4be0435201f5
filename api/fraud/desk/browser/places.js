// @ts-check
/** @import { Dossier } from './case.js' */
/** @import { Visit } from './map.js' */
import { make } from '../../../kit/page/browser/elements.js'
import { degrees, drawMap } from './map.js'
import { ago, count, duration } from './text.js'
import { missingOthers } from './timeline.js'

const EARTH_RADIUS_KM = 6_371
const RADIANS = Math.PI / 180
const MOST_PLACES = 20

/**
 * Shows where the user was, on a map and as a list.
 * @param {HTMLElement} where
 * @param {Dossier} dossier
 */
export function drawPlaces(where, dossier) {
  const visits = visitsOf(dossier)
  const own = visits.find(({ isOwn }) => isOwn)
  if (visits.length === 0) {
    const reason = missingOthers(dossier.others) || 'No location of this user is known.'
    return where.replaceChildren(make('p', 'soft', reason))
  }
  const rows = visits.toReversed().map((visit) => rowOf(visit, own))
  where.replaceChildren(drawMap(visits, where.clientWidth), make('ul', 'places soft', ...rows))
}

/**
 * @param {Dossier} dossier
 * @returns {Visit[]} oldest first; the place of this transaction comes last
 */
function visitsOf({ transaction, profile, others }) {
  const own = visitOf(transaction?.request.device, transaction?.request.timestamp, true)
  const before = (others ?? []).flatMap((one) => visitOf(one.geo_location, one.timestamp, false))
  // If no other transaction with a place was loaded, the profile may still have the user's last place.
  if (before.length === 0 && profile?.last_txn_ts !== transaction?.request.timestamp) {
    before.push(...visitOf(profile?.last_txn_geo, profile?.last_txn_ts, false))
  }
  return [...before.sort((a, b) => a.at - b.at).slice(-MOST_PLACES), ...own]
}

/**
 * @param {any} place with `lat` and `lng`, or nothing
 * @param {string | undefined} time
 * @param {boolean} isOwn
 * @returns {Visit[]}
 */
function visitOf(place, time, isOwn) {
  const isPlace = Number.isFinite(place?.lat) && Number.isFinite(place?.lng)
  return isPlace ? [{ lat: place.lat, lng: place.lng, at: time === undefined ? Number.NaN : Date.parse(time), isOwn }] : []
}

/**
 * @param {Visit} visit
 * @param {Visit | undefined} own
 */
function rowOf(visit, own) {
  const place = `${degrees(visit.lat, 'N', 'S')}, ${degrees(visit.lng, 'E', 'W')}`
  if (visit.isOwn) return make('li', 'own', `This transaction: ${place}`)
  const time = Number.isFinite(visit.at) ? `${ago(visit.at)}: ` : ''
  if (own === undefined) return make('li', '', `${time}${place}`)
  const distance = `${count(Math.round(distanceKm(visit, own)))} km away`
  const apart = Math.abs(own.at - visit.at)
  const between = Number.isFinite(apart) ? `, ${duration(apart)} ${own.at >= visit.at ? 'earlier' : 'later'}` : ''
  return make('li', '', `${time}${place}, ${distance}${between}`)
}

/**
 * @param {{ lat: number, lng: number }} a
 * @param {{ lat: number, lng: number }} b
 */
function distanceKm(a, b) {
  const half = (/** @type {number} */ angle) => Math.sin((angle * RADIANS) / 2) ** 2
  const chord = half(b.lat - a.lat) + Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * half(b.lng - a.lng)
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(chord)))
}
