// Octokit with another base URL, and nothing else changed.
import { Octokit } from 'octokit';

const { GITHUB_BASE, TICKET } = process.env;
const octokit = new Octokit({ auth: 'ghp_of_the_caller', baseUrl: GITHUB_BASE, retry: { retryAfterBaseValue: 50 }, throttle: { enabled: false } });

const open = (title) => octokit.rest.issues.create({ owner: 'acme', repo: 'shop', title, body: 'It broke.', labels: [`ticket:${TICKET}`] });
const issue = await open('It broke');
const again = await open('It broke, in other words');
const list = await octokit.rest.issues.listForRepo({ owner: 'acme', repo: 'shop', state: 'all' });
console.log(JSON.stringify({ number: issue.data.number, again: again.data.number, listed: list.data.length }));
