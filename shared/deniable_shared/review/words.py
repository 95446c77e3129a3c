"""Words by which a name or a description gives away what is collected, in ten languages.

English, German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian and Chinese. They are
looked for in casefolded text, whole words only; Chinese has no spaces.
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
    free.(?:text|form) freetext (?:(?:user|first|last|full|file|nick).?)?names? usernames?
    filenames?
    typed e-?mails? mails? comments? messages? address(?:es)? passwords? feedback
    (?:user.)?(?:writes|wrote|written)
    search.(?:terms?|quer(?:y|ies)) enters entered
    freitext(?:e|es)? vornamen? nachnamen? namen? benutzernamen? kommentare? nachrichten?
    nachricht
    anschrift(?:en)? adressen? passw(?:ort|örter) eingegeben(?:e[rsn]?)? geschrieben(?:e[rsn]?)?
    suchbegriffe?
    texte.libre noms? pr[ée]noms? commentaires? messages? adresses? mots?.de.passe saisie?
    [ée]crit courriels?
    texto.libre nombres? apellidos? comentarios? mensajes? direcci[óo]n(?:es)? contrase[ñn]as?
    escrib(?:e|i[óo]|en) correos?
    texto.livre nomes? sobrenomes? coment[áa]rios? mensage(?:m|ns) endere[çc]os? senhas?
    escreve(?:u|m)? digit(?:a|ou|ado)
    testo.libero nom[ei] cognom[ei] comment[io] messagg(?:io|i) indirizz[io] scri(?:ve|tto|tti)
    digitat[oi]
    vrije.tekst naam namen voornaam achternaam opmerking(?:en)? berichten? adres(?:sen)?
    wachtwoord(?:en)? ingevoerde? geschreven getypte?
    dowolny.tekst imi[ęe] imiona nazwisk[oa] komentarz(?:e|y)? wiadomo[śs](?:ci|[ćc]) adresy?
    has[łl][oa] wpisan[yae] napisa[łl]
    свободный.текст имя имена фамилия комментари[йи] сообщени[ея] адреса? пароль пароли написал
    введ[её]нн(?:ый|ое|ые)
    """,
    "自由文本|姓名|名字|评论|留言|消息|地址|密码|邮箱|输入的|用户写",
)

IDENTIFIERS: Final = _any_of(
    _OWNED
    + r"""
    unique.ids? uuids? guids? imei imsi iccid serial(?:.?(?:numbers?|nos?))? mac.address(?:es)?
    ip.address(?:es)? host.?names? machine.names?
    (?:tele)?phone.numbers? (?:mobile|cell).(?:numbers?|phones?) telephones? ibans?
    social.security ssns? passports? tax.(?:ids?|numbers?) licen[sc]e.plates? number.plates?
    cookies? api.keys? access.tokens? fingerprints?
    seriennummern? ger[äa]tenummern? kundennummern? telefonnummern? handynummern? kontonummern?
    steuernummern? personalausweis(?:nummer)? kennzeichen versichertennummer
    num[ée]ros?.(?:de.(?:s[ée]rie|t[ée]l[ée]phone|client|s[ée]curit[ée])) identifiants?
    plaques?.d.immatriculation
    n[úu]meros?.de.(?:s[ée]rie|tel[ée]fono|cliente|cuenta|telefone|conta) dni cpf cnpj
    matr[íi]cula
    numer[oi].(?:di.(?:serie|telefono|cliente|conto)|seriale) codice.fiscale targa
    serienummers? telefoonnummers? klantnummers? rekeningnummers? bsn kenteken
    numery?.(?:seryjny|telefonu|klienta|konta) pesel
    серийный.номер номер.телефона номер.сч[её]та снилс
    """,
    "序列号|手机号|电话号码|身份证|设备号|账号|车牌",
)

QUASI_IDENTIFIERS: Final = _any_of(
    r"""
    zip.?codes? post(?:al)?.?codes? (?:date|day|year|place).of.birth
    birth.?(?:days?|dates?|years?|places?) born
    street(?:.names?)? house.numbers? home.towns? latitudes? longitudes? coordinates? gps
    geo.?locations? exact.locations? employers? job.titles? schools?
    postleitzahl(?:en)? plz geburts(?:datum|tag|jahr|ort) stra[ßs]en? stra[ßs]enname wohnort
    arbeitgeber
    codes?.postal(?:e|es|aux)? dates?.de.naissance ann[ée]e.de.naissance lieu.de.naissance rue
    employeur
    c[óo]digos?.postal(?:es)? fechas?.de.nacimiento cumplea[ñn]os a[ñn]o.de.nacimiento calle
    empleador
    cep datas?.de.nascimento anivers[áa]rio rua empregador
    codic[ei].postal[ei] cap dat[ae].di.nascita anno.di.nascita via datore.di.lavoro
    postcodes? geboorte(?:datum|jaar|plaats) straat werkgever
    kody?.pocztowy daty?.urodzenia rok.urodzenia ulica pracodawca
    почтовый.индекс дата.рождения год.рождения улица работодатель
    """,
    "^zips?$|邮编|邮政编码|出生日期|生日|街道|经纬度|雇主",
)

CHANGES: Final = _any_of(
    r"""
    today yesterday during (?:the.)?last.(?:hour|day|week|month|session|start|run|time|launch)
    this.(?:day|week|month|session|run|morning) since
    recently crash(?:ed|es)? happened occurred clicked opened pressed visited viewed latency
    durations? how.(?:often|long|many) times batter(?:y|ies) online right.now
    heute gestern w[äa]hrend letzten? abgest[üu]rzt ge[öo]ffnet geklickt dauer
    wie.(?:oft|lange|viele)
    aujourd.hui hier derni[èe]re? dur[ée]e hoy ayer [úu]ltim[oa] duraci[óo]n hoje ontem oggi
    ieri durata vandaag gisteren duur dzisiaj wczoraj сегодня вчера
    """,
    "今天|昨天|最近|时长",
)

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
