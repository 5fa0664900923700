/** Names and options of the customer commands; the code that runs them is loaded on demand. */
import { EVENT_KINDS } from '../../events/kinds.ts'
import type { CommandForm } from '../command.ts'

/** Options for the service and the key. */
export const CONNECTION_OPTIONS: CommandForm['options'] = {
  url: { about: 'Address of the service; left out: TAPELINE_URL, else that of tapeline login.' },
  key: { about: 'API key; left out: TAPELINE_KEY, else that of tapeline login.' },
}

/** For the list of all commands. */
export const DATA_COMMANDS: readonly CommandForm[] = [
  {
    name: 'get',
    about: 'Reads data from a running service: tapeline get candles --symbol BTC.',
    options: {},
    isForCustomers: true,
  },
  {
    name: 'cost',
    about: 'Says what the same get would cost; takes no credits.',
    options: {},
    isForCustomers: true,
  },
]

const STREAM_COMMAND: CommandForm = {
  name: 'stream',
  isForCustomers: true,
  about: 'Prints chain events as they happen, one JSON object per line.',
  options: {
    kinds: { about: `Kinds, with commas: ${EVENT_KINDS.join(', ')}.`, required: true },
    addresses: { about: 'Addresses, with commas; utxos_changed needs at least one.' },
    'resume-after': { about: 'seq of the last event that was processed; left out: from now on.' },
    position: { about: 'File that keeps it: read at the start, written as events are printed.' },
    count: { about: 'Ends after so many events; left out: runs until it is stopped.' },
    ...CONNECTION_OPTIONS,
  },
}

export const VERIFY_COMMAND: CommandForm = {
  name: 'webhook verify',
  isForCustomers: true,
  about: 'Checks the signature of a received delivery and prints its events.',
  options: {
    headers: {
      about:
        'File with the headers, one "Name: value" per line or a JSON object; left out: they precede the body.',
    },
    body: { about: 'File with the body as it arrived, or - for the input.', fallback: '-' },
    secret: { about: 'whsec_…; left out: TAPELINE_WEBHOOK_SECRET, which no list of processes shows.' },
    'any-age': { about: 'Accepts one of long ago as well, such as a recorded one.', isFlag: true },
  },
}

export const LOGIN_COMMAND: CommandForm = {
  name: 'login',
  isForCustomers: true,
  about: 'Checks address and key and stores them for get, cost, stream and mcp.',
  options: {
    url: { about: 'Address of the service; left out: TAPELINE_URL.' },
    key: { about: 'API key; left out: TAPELINE_KEY, which no list of processes shows.' },
  },
}

export const LOGOUT_COMMAND: CommandForm = {
  name: 'logout',
  isForCustomers: true,
  about: 'Forgets what login stored; the key itself stays valid.',
  options: {},
}

export const CUSTOMER_COMMANDS: readonly CommandForm[] = [
  LOGIN_COMMAND,
  LOGOUT_COMMAND,
  ...DATA_COMMANDS,
  STREAM_COMMAND,
  VERIFY_COMMAND,
]
