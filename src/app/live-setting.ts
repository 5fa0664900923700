/** The configuration of the real venues, with their own hosts as defaults. */
import { showHosts, type VenueHost } from '../config/addresses.ts'
import { type Config, ConfigError, type LoadedConfig } from '../config/config.ts'
import { nearest } from '../core/nearest.ts'
import { systemClock } from '../kit/clock.ts'
import { CHAINS } from '../venues/chainlink/describe.ts'
import { VENUE_NAMES, VENUES, type VenueName } from '../venues/list.ts'
import type { VenueSetting } from './open-venue.ts'

/** Every host of every venue as it will be used. The oracle has nodes instead, which have their own setting. */
function venueHosts({ venueHosts: given }: Pick<Config, 'venueHosts'>): VenueHost[] {
  const own = VENUE_NAMES.filter((name) => VENUES[name].plan.kind !== 'oracle').flatMap((venue) =>
    Object.entries(VENUES[venue].create({ clock: systemClock }).describe.hosts).map(
      ([part, url]): VenueHost => ({ venue, part, url }),
    ),
  )
  const nameOf = ({ venue, part }: VenueHost) => `${venue}.${part}`
  const names = own.map(nameOf)
  for (const host of given) {
    const known = own.find((each) => nameOf(each) === nameOf(host))
    if (known === undefined) {
      const near = nearest(nameOf(host), names)
      const hint = near === undefined ? `Known are ${names.join(', ')}.` : `Did you mean ${near}?`
      throw new ConfigError(`TAPELINE_VENUE_HOSTS names ${nameOf(host)}, which no venue has. ${hint}`)
    }
    const isSocket = (url: string) => /^wss?:/.test(url)
    if (isSocket(host.url) !== isSocket(known.url))
      throw new ConfigError(
        `TAPELINE_VENUE_HOSTS gives ${nameOf(host)} an address of the wrong kind: it must begin with ${isSocket(known.url) ? 'wss:// or ws://' : 'https:// or http://'}.`,
      )
  }
  return own.map((host) => given.findLast((each) => nameOf(each) === nameOf(host)) ?? host)
}

export function liveSetting(name: VenueName, config: Config): VenueSetting {
  const own = venueHosts(config).filter(({ venue }) => venue === name)
  const hosts = Object.fromEntries(own.map(({ part, url }) => [part, url]))
  return { name, ...(own.length === 0 ? {} : { hosts }), ...optionsOf(name, config) }
}

function optionsOf(name: VenueName, config: Config): Omit<VenueSetting, 'name' | 'hosts'> {
  const { kalshiKeyId, kalshiPrivateKey, polymarketApiKey, polymarketSecret, polymarketPassphrase } = config
  switch (name) {
    case 'polymarket':
      return {
        polymarket: {
          dataVersion: config.polymarketData,
          reference: config.polymarketReference,
          bolt: {
            ...(polymarketApiKey === null ? {} : { apiKey: polymarketApiKey }),
            ...(polymarketSecret === null ? {} : { secret: polymarketSecret }),
            ...(polymarketPassphrase === null ? {} : { passphrase: polymarketPassphrase }),
          },
        },
      }
    case 'kalshi':
      return {
        kalshi: {
          useYesPrice: config.kalshiYesPrice,
          ...(kalshiKeyId === null ? {} : { keyId: kalshiKeyId }),
          ...(kalshiPrivateKey === null ? {} : { privateKey: kalshiPrivateKey }),
        },
      }
    case 'chainlink':
      return {
        chainlink: {
          chain: config.chainlinkChain,
          providers: providersOf(config),
          ...(config.chainlinkQuorum === null ? {} : { quorum: config.chainlinkQuorum }),
        },
      }
    default:
      return {}
  }
}

function providersOf(config: Pick<Config, 'chainlinkChain' | 'chainlinkProviders' | 'chainlinkQuorum'>) {
  const { chainlinkChain, chainlinkProviders, chainlinkQuorum } = config
  const providers = chainlinkProviders.length > 0 ? chainlinkProviders : CHAINS[chainlinkChain].providers
  if (chainlinkQuorum !== null && chainlinkQuorum > providers.length)
    throw new ConfigError(
      `TAPELINE_CHAINLINK_QUORUM is ${chainlinkQuorum}, but there are only ${providers.length} nodes to agree.`,
    )
  return providers
}

/** Refuses settings that no venue could work with, before anything is started. */
export function checkVenueSettings(config: Config): void {
  venueHosts(config)
  providersOf(config)
}

/**
 * The list of settings, in which the addresses that will be used, including the defaults of the venues, have one line
 * each.
 */
export function describeWithVenues({ config, described }: LoadedConfig): LoadedConfig['described'] {
  checkVenueSettings(config)
  return described.flatMap((line) => {
    if (line.setting === 'TAPELINE_CHAINLINK_PROVIDERS' && config.chainlinkProviders.length === 0)
      return providersOf(config).map((value) => ({ ...line, value }))
    if (line.setting !== 'TAPELINE_VENUE_HOSTS') return [line]
    return venueHosts(config).map((host) => ({
      ...line,
      value: config.venueHosts.includes(host) ? showHosts([host]) : `${host.venue}.${host.part}=${host.url}`,
      from: config.venueHosts.includes(host) ? line.from : 'default',
    }))
  })
}
