@testable import Signing

/// Keys and a certificate, made by OpenSSL 3.0. `one` and the keys whose names start with `one` are the same key in
/// different forms.
enum Samples {
    static let one = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+6RaWHUdNP0qUsmP
        JvVd4a6ECvnGl2kXvGwTDHJ3vYihRANCAARq2vwf+MjU8kUMX3HfRIsgRi4c34zB
        n5rhrRJQWT/eodth+SO+EXH+c48TQfXTDyJFB5Yzvotcb+CRjPv73O8w
        -----END PRIVATE KEY-----
        """
    /// The key in the form SEC 1.
    static let oneInSEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIPukWlh1HTT9KlLJjyb1XeGuhAr5xpdpF7xsEwxyd72IoAoGCCqGSM49
        AwEHoUQDQgAEatr8H/jI1PJFDF9x30SLIEYuHN+MwZ+a4a0SUFk/3qHbYfkjvhFx
        /nOPE0H10w8iRQeWM76LXG/gkYz7+9zvMA==
        -----END EC PRIVATE KEY-----
        """
    /// The key in the form SEC 1, made with the option `-no_public`.
    static let oneWithoutItsPublicHalf = """
        -----BEGIN EC PRIVATE KEY-----
        MDECAQEEIPukWlh1HTT9KlLJjyb1XeGuhAr5xpdpF7xsEwxyd72IoAoGCCqGSM49
        AwEH
        -----END EC PRIVATE KEY-----
        """
    /// The key with the curve's numbers in place of the curve's name, made with the option `-param_enc explicit`.
    static let oneWithoutItsCurvesName = """
        -----BEGIN PRIVATE KEY-----
        MIIBeQIBADCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAAB
        AAAAAAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA
        ///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMV
        AMSdNgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg
        9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8A
        AAAA//////////+85vqtpxeehPO5ysL8YyVRAgEBBG0wawIBAQQg+6RaWHUdNP0q
        UsmPJvVd4a6ECvnGl2kXvGwTDHJ3vYihRANCAARq2vwf+MjU8kUMX3HfRIsgRi4c
        34zBn5rhrRJQWT/eodth+SO+EXH+c48TQfXTDyJFB5Yzvotcb+CRjPv73O8w
        -----END PRIVATE KEY-----
        """
    static let secp256k1 = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgEMiOYE9r4FvzNG8i3+a2
        6c88n/2LUggc7xCYlBiVQd6hRANCAASB3UEr55CnfOm93SH0IehLcd16qSStUa7E
        xWxXPC5tD9sPL69DqkuOeVfJ78fJ342EKfYwLs6dEZxqFlhJ+XRv
        -----END PRIVATE KEY-----
        """
    static let secp384r1 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDRrG/GaQXqLO6uHgB1
        CtCQy04uWXULRrDTOZTj1ANs+Wo3k8w+VKMdl4EVuiQKshihZANiAAT+jV6jwnE+
        X5irfFCtAhcraJZgm7+fxt1lCmcZorli85/cKdJlmnBs0+4IebNTmbdS2GTSJy55
        g9GJiHdZMQghde8G1MWUFvLFns+mMUeCDyF6m0D6Y2KvqY0yeLYAL/A=
        -----END PRIVATE KEY-----
        """
    /// A certificate of the key `one`, with attributes and extensions as in Apple's push certificates. It is valid from
    /// 2026-11-22T23:19:08Z to 2126-10-29T23:19:08Z.
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIICbzCCAhWgAwIBAgIUBwmiqcquTlHOzwkxzXwcwbUntoIwCgYIKoZIzj0EAwIw
        VDEhMB8GCgmSJomT8ixkAQEMEWNvbS5leGFtcGxlLk5vdGVzMS8wLQYDVQQDDCZB
        cHBsZSBQdXNoIFNlcnZpY2VzOiBjb20uZXhhbXBsZS5Ob3RlczAgFw0yNjExMjIy
        MzE5MDhaGA8yMTI2MTAyOTIzMTkwOFowVDEhMB8GCgmSJomT8ixkAQEMEWNvbS5l
        eGFtcGxlLk5vdGVzMS8wLQYDVQQDDCZBcHBsZSBQdXNoIFNlcnZpY2VzOiBjb20u
        ZXhhbXBsZS5Ob3RlczBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGra/B/4yNTy
        RQxfcd9EiyBGLhzfjMGfmuGtElBZP96h22H5I74Rcf5zjxNB9dMPIkUHljO+i1xv
        4JGM+/vc7zCjgcIwgb8wEAYKKoZIhvdjZAYDAQQCBQAwEAYKKoZIhvdjZAYDAgQC
        BQAwegYKKoZIhvdjZAYDBgRsMGoMEWNvbS5leGFtcGxlLk5vdGVzMAUMA2FwcAwW
        Y29tLmV4YW1wbGUuTm90ZXMudm9pcDAGDAR2b2lwDB5jb20uZXhhbXBsZS5Ob3Rl
        cy5jb21wbGljYXRpb24wDgwMY29tcGxpY2F0aW9uMB0GA1UdDgQWBBRqdPnq1rcy
        NcydZO9h3eqsxD54gTAKBggqhkjOPQQDAgNIADBFAiAslx5q9NXwEGQrOTxw/LSX
        ys5RxtT+jUsYEYSuoOEBbwIhANxUbMxk3wSfBoIYKv9JIBVYOJquWtlJ0hVEfxMy
        9xOF
        -----END CERTIFICATE-----
        """

    /// A key in SEC 1 without curve and public half.
    static func sec1(_ number: [UInt8]) -> String {
        let content: [UInt8] = [2, 1, 1, 4, UInt8(number.count)] + number
        return PEMBlock(label: "EC PRIVATE KEY", bytes: [0x30, UInt8(content.count)] + content).text
    }
}

extension [UInt8] {
    /// - Parameter hexadecimal: Two digits for each byte. Other characters are ignored.
    init(hexadecimal: String) {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
