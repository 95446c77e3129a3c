"""Words by which a name or a description gives away what is collected, in twelve languages.

English, German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Chinese, Japanese and
Korean. They are looked for in casefolded text, whole words only; the last three are looked for
within words, too.
"""

from __future__ import annotations

import re
from typing import Final


def _any_of(words: str, anywhere: str) -> re.Pattern[str]:
    """Whole words, or parts of text in scripts without spaces.

    Args:
        words: patterns apart; a dot stands for the space of a phrase.
        anywhere: a pattern.
    """
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(words.split())})(?![^\W_])|{anywhere}")


_OWNERS: Final = (
    "device user account customer client session machine installation install hardware advertising "
    "member person patient employee student licen[sc]e booking order ticket invoice contract "
    "policy badge card android vendor tracking"
)
"""Whose identifiers, numbers and keys stand for somebody."""

_OWNED: Final = " ".join(
    rf"{owner}.?(?:ids?|identifiers?|numbers?|nos?|keys?)" for owner in _OWNERS.split()
)

FREE_TEXT: Final = _any_of(
    r"""
    free.(?:text|form) freetext text.field (?:(?:user|first|last|full|file|nick).?)?names?
    usernames?
    filenames? typed types.in e-?mails? mails? comments? messages? address(?:es)? passwords?
    feedback
    (?:user.)?(?:writes?|wrote|written) search.(?:terms?|quer(?:y|ies)) enters entered pasted
    dictated own.words notes? remarks? reviews? opinions? repl(?:y|ies) complaints? captions?
    titles?
    questions? prompts? diar(?:y|ies) journals? asks asked says said tells told
    freitext(?:e|es)? vornamen? nachnamen? namen? benutzernamen? kommentare? nachrichten?
    anschrift(?:en)? adressen? passw(?:ort|örter) (?:ein|aus)gefüllt(?:e[rsn]?)?
    eingegeben(?:e[rsn]?)? eingibt eintippt getippt(?:e[rsn]?)? geschrieben(?:e[rsn]?)?
    schreib(?:t|en) schrieb(?:en)? suchbegriffe? anmerkung(?:en)? bemerkung(?:en)? notiz(?:en)?
    meinung(?:en)? bewertungstexte? rezension(?:en)? r[üu]ckmeldung(?:en)? beschwerden? betreff
    (?:beschwerde|nachrichten|kommentar|brief|such|anfrage)texte?s? fragen? gefragt eigenen.worten
    texte.libre noms? pr[ée]noms? commentaires? adresses? mots?.de.passe saisi(?:e|es|t)?
    [ée]cri(?:t|te|ts|re|vent|vez) courriels? avis remarques? r[ée]ponses? plaintes? titres?
    r[ée]clamations? propres.mots pense demand(?:e|é)
    texto.libre nombres? apellidos? comentarios? mensajes? direcci[óo]n(?:es)? contrase[ñn]as?
    escrib(?:e|i[óo]|en|ir) escrit[oa]s? correos? notas? opini[óo]n(?:es)? rese[ñn]as? quejas?
    preguntas? pregunt[óa] respuestas? t[íi]tulos? observaci[óo]n(?:es)? (?:propias|sus).palabras
    texto.livre nomes? sobrenomes? coment[áa]rios? mensage(?:m|ns) endere[çc]os? senhas?
    escrev(?:e|eu|em|er) digit(?:a|ou|ado) opini(?:[ãa]o|[õo]es) avalia[çc](?:[ãa]o|[õo]es)
    reclama[çc](?:[ãa]o|[õo]es) pergunt(?:as?|ou|am) respostas? observa[çc](?:[ãa]o|[õo]es)
    pr[óo]prias.palavras
    testo.libero nom[ei] cognom[ei] comment[io] messagg(?:io|i) indirizz[io]
    scri(?:ve|vere|vono|tt[aeio]) digitat[oi] opinion[ei] recension[ei] reclam[oi] domand[ae]
    rispost[ae] titol[oi] osservazion[ei] proprie.parole
    vrije.tekst naam namen voornaam achternaam opmerking(?:en)? berichten? adres(?:sen)?
    wachtwoord(?:en)? ingevoerde? invoert geschreven schrij(?:ft|ven) schreef getypte? typt
    notities? mening(?:en)? recensies? klacht(?:en)? vraag antwoord(?:en)? terugkoppeling
    eigen.woorden vertel(?:t|len)
    dowolny.tekst imi[ęe] imiona nazwisk[oa] komentarz(?:e|y)? wiadomo[śs](?:ci|[ćc]) adresy?
    has[łl][oa] wpis(?:an[yae]|uje|uj[ąa]|a[łl]a?) (?:na)?pisa[łl]a? pisz[eą] notatk[ai] uwag[ai]
    opini[aei] recenzj[aei] skarg[ai] pytani[ae] odpowied[źz]i? tytu[łl]y? w[łl]asnymi.s[łl]owami
    свободный.текст имя имена фамилия комментари[йи] сообщени[ея] адреса? пароль пароли
    (?:на)?писал[аи]? пиш(?:ет|ут) написан(?:о|ный|ое|ные) введ[её]нн(?:ый|ое|ые) вв[её]л[аи]?
    вводит
    отзывы? замечани[ея] заметк[аи] мнени[ея] жалоб[аы] вопросы? ответы? своими.словами
    """,
    "自由文本|姓名|名字|评论|留言|消息|地址|密码|邮箱|输入的|用户写|填写|反馈|意见|备注|笔记|标题|提问|投诉"
    "|自由記述|氏名|名前|住所|メール|パスワード|コメント|感想|意見|書い|書き込|記入|入力した|問い合わせ"
    "|レビュー|メモ|의견|댓글|후기|메모|메시지|입력한|작성한|이름|주소|비밀번호|이메일",
)

IDENTIFIERS: Final = _any_of(
    _OWNED
    + r"""
    unique.(?:ids?|users?|devices?|customers?|visitors?|installs?|installations?) uuids? guids? imei
    imsi iccid udid idfa gaid adid serial(?:.?(?:numbers?|nos?))? mac.address(?:es)? b?ssids?
    wi.?fi.names? network.names? ip.address(?:es)? host.?names? machine.names?
    (?:which|whose|what).(?:copy|device|machine|computer|user|customer|client|account|person|phone)
    (?:returning|same).(?:users?|devices?|customers?|visitors?|person)
    (?:tele)?phone.numbers? (?:mobile|cell).(?:numbers?|phones?) telephones? ibans?
    social.security ssns? passports? tax.(?:ids?|numbers?) licen[sc]e.plates? number.plates?
    cookies? api.keys? access.tokens? fingerprints?
    \w{3,}nummern? personalausweis kennzeichen
    welche[rsn]?.(?:ger[äa]t|nutzer|kunde|kundin|person|installation) wessen
    num[ée]ros?.(?:de.(?:s[ée]rie|t[ée]l[ée]phone|client|s[ée]curit[ée])) identifiants?
    plaques?.d.immatriculation quel.(?:appareil|utilisateur|client)
    n[úu]meros?.de.(?:s[ée]rie|tel[ée]fono|cliente|cuenta|telefone|conta) dni cpf cnpj
    matr[íi]cula (?:qu[ée]|qual).(?:dispositivo|usuario|usu[áa]rio|cliente)
    numer[oi].(?:di.(?:serie|telefono|cliente|conto)|seriale) codice.fiscale targa
    quale.(?:dispositivo|utente|cliente)
    \w{3,}nummers? bsn kenteken
    numery?.(?:seryjny|telefonu|klienta|konta) pesel
    серийный.номер номер.телефона номер.сч[её]та снилс
    """,
    r"^(?:who(?:se|m)?|wer|qui|qui[ée]n|quem|chi|kto|кто)(?![^\W_])"
    "|序列号|手机号|电话号码|身份证|设备号|账号|车牌"
    "|シリアル番号|電話番号|端末番号|会員番号|口座番号|マイナンバー"
    "|일련번호|전화번호|주민등록번호|계좌번호|회원번호",
)

QUASI_IDENTIFIERS: Final = _any_of(
    r"""
    zip.?codes? post(?:al)?.?codes? (?:date|day|year|place).of.birth
    birth.?(?:days?|dates?|years?|places?) born
    street(?:.names?)? house.numbers?
    home.?(?:towns?|cit(?:y|ies)|cantons?|count(?:y|ies)|districts?)
    latitudes? longitudes? coordinates? gps geo.?locations? exact.locations? grid.cells?
    where.(?:(?:the|a).)?(?:user|phone|device|person|customer)s?.(?:is|are|works?|sleeps?)
    employers? job.titles? occupations? professions? schools? salar(?:y|ies) wages? incomes?
    postleitzahl(?:en)? plz geburts(?:datum|tag|jahr|ort) stra[ßs]en? stra[ßs]enname wohnort
    arbeitgeber beruf gehalt
    codes?.postal(?:e|es|aux)? dates?.de.naissance ann[ée]e.de.naissance lieu.de.naissance rue
    employeur m[ée]tier salaire
    c[óo]digos?.postal(?:es)? fechas?.de.nacimiento cumplea[ñn]os a[ñn]o.de.nacimiento calle
    empleador profesi[óo]n salario
    cep datas?.de.nascimento anivers[áa]rio rua empregador profiss[ãa]o
    codic[ei].postal[ei] cap dat[ae].di.nascita anno.di.nascita via datore.di.lavoro stipendio
    postcodes? geboorte(?:datum|jaar|plaats) straat werkgever beroep
    kody?.pocztowy daty?.urodzenia rok.urodzenia ulica pracodawca zaw[óo]d
    почтовый.индекс дата.рождения год.рождения улица работодатель профессия зарплата
    """,
    "^zips?$|邮编|邮政编码|出生日期|生日|街道|经纬度|雇主|郵便番号|生年月日|誕生日|番地|勤務先|緯度|経度"
    "|우편번호|생년월일|생일|도로명|직장|위도|경도",
)

CHANGES: Final = _any_of(
    r"""
    today yesterday during (?:the.)?(?:last|past).(?:\w+.)?(?:hours?|days?|weeks?|months?)
    during.(?:the.)?last.(?:session|start|run|time|launch)
    (?:the.)?last.(?:session|start|run|launch)
    this.(?:day|week|month|session|run|morning) since at.the.moment just.now
    recently crash(?:ed|es)? happened occurred clicked opened pressed visited viewed latency
    durations? how.(?:often|long|many) times batter(?:y|ies) online right.now
    heute gestern w[äa]hrend letzten? abgest[üu]rzt ge[öo]ffnet geklickt dauer gerade momentan
    zurzeit
    wie.(?:oft|lange|viele)
    aujourd.hui hier derni[èe]re? dur[ée]e en.ce.moment actuellement hoy ayer [úu]ltim[oa]
    duraci[óo]n ahora hoje ontem agora n?este.momento oggi ieri durata adesso in.questo.momento
    vandaag gisteren duur momenteel dzisiaj wczoraj teraz obecnie сегодня вчера сейчас
    """,
    "今天|昨天|最近|时长|现在|当前|今日|昨日|오늘|어제|최근|지금",
)

EVENTS: Final = _any_of(
    r"""
    crash(?:es|ed)? errors? fail(?:s|ed|ures?)? events? happen(?:s|ed)? occur(?:s|red)?
    (?:each|every).time click(?:s|ed) tap(?:s|ped) press(?:es|ed) how.often
    as.soon.as
    (?:sent|reported|recorded|logged|counted|true|fires|fired).(?:when|whenever|if|once)
    when(?:ever)?.(?:somebody|someone|anybody|anyone|(?:the|an?).(?:user|person|customer|player))
    abst[üu]rz(?:e|t) absturz abgest[üu]rzt fehler (?:wenn|sobald).(?:jemand|man)
    plant(?:e|ages?) erreurs? (?:quand|lorsqu.?|d[èe]s.qu.?).(?:quelqu.un|on|l.utilisateur)
    errores (?:cuando|quando).(?:alguien|algu[ée]m|qualcuno|el.usuario|o.usu[áa]rio|l.utente)
    erros? error[ei] (?:wanneer|zodra).iemand gdy.kto[śs] когда.кто.?то
    """,
    "崩溃|错误|每次|クラッシュ|エラー|した時|したとき|충돌|오류|할.때마다",
)
"""Words by which something is told that happens now and then."""

SEVERAL: Final = _any_of(
    r"actions? commands? errors? exceptions? quer(?:y|ies) searches (?:each|every).time",
    "命令|错误|コマンド|エラー|명령|오류",
)
"""Words for what a device has several of in a period, one after another."""

DIMENSIONS: Final = {
    word: dimension
    for dimension, words in (
        ("", "hist dist avg mean average median total p50 p90 p95 p99 quantile quantiles"),
        ("", "histogram distribution"),
        ("time", "time duration latency ms seconds secs sec milliseconds minutes mins hours"),
        ("size", "size bytes kb mb gb kib mib kilobytes megabytes gigabytes"),
    )
    for word in words.split()
}
"""Words of numbers that say in which unit or statistic, by what is measured; empty: by nothing."""

GENERIC: Final = frozenset(
    {
        "group",
        "bucket",
        "range",
        "class",
        "band",
        "exact",
        "raw",
        "text",
        "string",
        "number",
        "value",
        "category",
        "kind",
        "type",
        "flag",
        "is",
        "has",
        "the",
        "of",
        "in",
        "a",
        "an",
        "code",
        "name",
        "level",
        "list",
        "choice",
        "detail",
        "details",
        "coarse",
        "fine",
        "full",
        "short",
        "long",
    }
)
"""Words of names that say how something is collected rather than what."""


def found_in(pattern: re.Pattern[str], name: str, description: str) -> str | None:
    """The first match in a metric's name or description; None without one.

    Args:
        pattern: one of this module.
        name: of the metric.
        description: of the metric.
    """
    for text in (name.replace("_", " "), description):
        if (match := pattern.search(text.casefold())) is not None:
            return match[0].strip()
    return None
