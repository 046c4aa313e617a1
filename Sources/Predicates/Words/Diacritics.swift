/// The letters and marks that ``Words`` needs to remove diacritics.
enum Diacritics {
    /// The base letter of each lower-case Latin, Greek or Cyrillic letter whose canonical decomposition (Unicode) has
    /// marks.
    static let bases: [Unicode.Scalar: Unicode.Scalar] = {
        var bases: [Unicode.Scalar: Unicode.Scalar] = [:]
        for (base, composed) in rows {
            for scalar in composed.unicodeScalars { bases[scalar] = base }
        }
        return bases
    }()

    /// Whether this is a mark above, below or attached to a letter. Other marks, such as strokes through letters,
    /// Devanagari vowel signs and the voicing marks of kana, make a different letter.
    static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x300 && scalar.properties.canonicalCombiningClass.rawValue >= 200
    }

    private static let rows: [(base: Unicode.Scalar, composed: String)] = [
        ("a", "àáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ"), ("c", "çćĉċčḉ"), ("e", "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ"),
        ("i", "ìíîïĩīĭįǐȉȋḭḯỉị"), ("n", "ñńņňǹṅṇṉṋ"), ("o", "òóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ"),
        ("u", "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự"), ("y", "ýÿŷȳẏẙỳỵỷỹ"), ("d", "ďḋḍḏḑḓ"), ("g", "ĝğġģǧǵḡ"),
        ("h", "ĥȟḣḥḧḩḫẖ"), ("j", "ĵǰ"), ("k", "ķǩḱḳḵ"), ("l", "ĺļľḷḹḻḽ"), ("r", "ŕŗřȑȓṙṛṝṟ"), ("s", "śŝşšșṡṣṥṧṩ"),
        ("t", "ţťțṫṭṯṱẗ"), ("w", "ŵẁẃẅẇẉẘ"), ("z", "źżžẑẓẕ"), ("æ", "ǣǽ"), ("ʒ", "ǯ"), ("ø", "ǿ"),
        ("ι", "ΐίϊἰἱἲἳἴἵἶἷὶίῐῑῒΐῖῗ"), ("α", "άἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ"), ("ε", "έἐἑἒἓἔἕὲέ"),
        ("η", "ήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ"), ("υ", "ΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ"), ("ο", "όὀὁὂὃὄὅὸό"),
        ("ω", "ώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ"), ("ϒ", "ϓϔ"), ("и", "йѝӣӥ"), ("е", "ѐёӗ"), ("г", "ѓ"), ("і", "ї"),
        ("к", "ќ"), ("у", "ўӯӱӳ"), ("ѵ", "ѷ"), ("ж", "ӂӝ"), ("а", "ӑӓ"), ("ә", "ӛ"), ("з", "ӟ"), ("о", "ӧ"),
        ("ө", "ӫ"), ("э", "ӭ"), ("ч", "ӵ"), ("ы", "ӹ"), ("b", "ḃḅḇ"), ("f", "ḟ"), ("m", "ḿṁṃ"), ("p", "ṕṗ"),
        ("v", "ṽṿ"), ("x", "ẋẍ"), ("ſ", "ẛ"), ("ρ", "ῤῥ"),
    ]
}
