// All ways in which a secret is found, in the order in which they are tried: what is surest comes first.

import { ASSIGNMENTS } from './assignments.ts';
import { findNamedTokens } from './named-tokens.ts';
import { findByRule, type SecretRule } from './rule.ts';
import { findKubernetesSecrets, IN_PLACES, JWT, PRIVATE_KEY } from './rules.ts';
import { type Found, findTokens } from './token-forms.ts';

type Find = (text: string) => Found[];

const byRule =
  (rule: SecretRule): Find =>
  (text) =>
    findByRule(text, rule);

// Found by what it says once it is decoded.
const BASE64: SecretRule = {
  id: 'base64',
  pattern: /(?<![\w+/-])[\w+/-]{24,8000}={0,2}(?![\w+/=-])/g,
  isSecret(value) {
    const said = Buffer.from(value, 'base64').toString('latin1');
    return (
      /^[\x20-\x7e\s]{16,}$/.test(said) &&
      (findTokens(said).length > 0 || said.search(JWT.pattern) >= 0 || said.search(PRIVATE_KEY.pattern) >= 0)
    );
  },
};

export const FINDERS: Find[] = [
  byRule(PRIVATE_KEY),
  byRule(JWT),
  findTokens,
  ...IN_PLACES.map(byRule),
  findKubernetesSecrets,
  ...ASSIGNMENTS.map(byRule),
  findNamedTokens,
  byRule(BASE64),
];
