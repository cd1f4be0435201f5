/**
 * Words that `safe=true` leaves out: vulgar, sexual and insulting words in a few languages, without accents. The list
 * cannot be complete. Administrators can block further terms.
 */

/** Words that are unsafe only as whole words, because harmless words contain them. */
export const UNSAFE_WORDS: readonly string[] = [
  ...['anal', 'anus', 'arse', 'arsehole', 'ass', 'asses', 'ballsack', 'bastard', 'bastards', 'boner', 'boob', 'boobs', 'bugger'],
  ...['bum', 'butt', 'camgirl', 'camgirls', 'clit', 'cock', 'cocks', 'coon', 'cum', 'cumming', 'cunt', 'cunts'],
  ...['dick', 'dicks', 'dildo', 'dildos', 'dyke', 'erotic', 'erotica', 'fag', 'fags', 'fetish', 'gook', 'hooker', 'hookers', 'horny'],
  ...['incest', 'jerkoff', 'jizz', 'kike', 'milf', 'milfs', 'nigga', 'niggas', 'nigger', 'niggers', 'nipple', 'nipples', 'nsfw'],
  ...['nude', 'nudes', 'orgasm', 'orgy', 'paki', 'pedo', 'penis', 'piss', 'pissed', 'poof', 'prick', 'pubes', 'pussy', 'rape'],
  ...['raped', 'rapist', 'retard', 'retarded', 'scrotum', 'semen', 'sex', 'sexy', 'shag', 'shit', 'shits', 'shitty'],
  ...['slut', 'sluts', 'spic', 'suck', 'sucks', 'tit', 'tits', 'titty', 'tranny', 'twat', 'vagina', 'wank', 'wanker', 'whore', 'whores'],
  ...['xxx', 'arsch', 'fick', 'ficken', 'fotze', 'hure', 'nutte', 'scheisse', 'schlampe', 'wichser', 'connard'],
  ...['connasse', 'encule', 'merde', 'pute', 'putain', 'salope', 'cabron', 'cono', 'follar', 'joder', 'mierda', 'pendejo', 'polla'],
  ...['puta', 'putas', 'puto', 'verga', 'buceta', 'caralho', 'foda', 'foder', 'piroca', 'porra', 'viado', 'cazzo', 'merda'],
  ...['puttana', 'stronzo', 'anjing', 'kontol', 'memek', 'ngentot', 'блядь', 'пизда', 'сука', 'хуй'],
]

/** Words that are unsafe even as a part of a hashtag. No common harmless word contains them. */
export const UNSAFE_ANYWHERE: readonly string[] = [
  ...['asshole', 'bitch', 'blowjob', 'bukkake', 'bullshit', 'creampie', 'deepthroat', 'faggot', 'fuck', 'gangbang', 'handjob'],
  ...['hentai', 'jackoff', 'masturbat', 'motherf', 'nakedgirl', 'onlyfans', 'porno', 'pornhub', 'sexcam', 'sexchat', 'sexvideo'],
  ...['threesome', 'upskirt', 'xxxvideo', 'arschloch', 'hurensohn', 'filsdepute', 'hijodeputa', 'filhodaputa', 'vaffanculo'],
]
