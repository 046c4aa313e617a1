/// JSON Web Tokens of an operator, an account and a user, as the tool `nsc` makes them. They never expire. Their
/// Ed25519 seeds are 32 times the letter `o`, `a` or `u`.
enum TestTokens {
    /// The operator's token, which a server's configuration names.
    static let operatorToken = """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOjE3MDAwMDAwMDAsImlzcyI6Ik9ERUcyQU5OUk1YM05GR\
        lNGNzNBNFBFNVRaN05TRE5WTUJEWEZOMkVLREtBU0U1WlZIRjI2RzNTIiwibmFtZSI6ImJlbGZyeS10ZXN0Iiwic3ViIjoiT0RFR\
        zJBTk5STVgzTkZGU0Y3M0E0UEU1VFo3TlNETlZNQkRYRk4yRUtES0FTRTVaVkhGMjZHM1MiLCJuYXRzIjp7InR5cGUiOiJvcGVyY\
        XRvciIsInZlcnNpb24iOjJ9LCJqdGkiOiJLVklWN1A2SlZPTTUyT1RXQlpNWFlDSktJVlhBWDNHM0JFRjNTTlJXNFFaRk4yUUxTW\
        kNBIn0.0mBbSDk227YaUwtu9axWhUi-L2j3uWLdVl9wB3ivOXNVyDwT7fWDIUn4tQbNxEOY0JQK9OhjiticdiHRKTsBDQ
        """

    static let account = "ACXQNI7DFELRJZHTK3AZZGYVZUMVD3DOMZRKU556A5KH6KETQM2B2LMB"
    /// The account's token, signed by the operator.
    static let accountToken = """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOjE3MDAwMDAwMDAsImlzcyI6Ik9ERUcyQU5OUk1YM05GR\
        lNGNzNBNFBFNVRaN05TRE5WTUJEWEZOMkVLREtBU0U1WlZIRjI2RzNTIiwibmFtZSI6ImJlbGZyeS1hY2NvdW50Iiwic3ViIjoiQ\
        UNYUU5JN0RGRUxSSlpIVEszQVpaR1lWWlVNVkQzRE9NWlJLVTU1NkE1S0g2S0VUUU0yQjJMTUIiLCJuYXRzIjp7InR5cGUiOiJhY\
        2NvdW50IiwidmVyc2lvbiI6MiwibGltaXRzIjp7InN1YnMiOi0xLCJkYXRhIjotMSwicGF5bG9hZCI6LTEsImltcG9ydHMiOi0xL\
        CJleHBvcnRzIjotMSwid2lsZGNhcmRzIjp0cnVlLCJjb25uIjotMSwibGVhZiI6LTEsIm1lbV9zdG9yYWdlIjotMSwiZGlza19zd\
        G9yYWdlIjotMSwic3RyZWFtcyI6LTEsImNvbnN1bWVyIjotMX19LCJqdGkiOiJIU0g3VU5UNEhNWk9MWjdWS0RDWk5ERzJTV0ZOV\
        zRQM05NSTRIWFVGSU9CUVA2SFA3UFhRIn0.ZLYYkXFlVAhIM_zsEErGKWqGwSxp9oSahXCAtqLUNk80oAC80bS4me0cn3UsqY2Se\
        dwpQ87WzN3G0ZfBJdKyBw
        """

    /// The user's token, signed by the account.
    static let userToken = """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOjE3MDAwMDAwMDAsImlzcyI6IkFDWFFOSTdERkVMUkpaS\
        FRLM0FaWkdZVlpVTVZEM0RPTVpSS1U1NTZBNUtINktFVFFNMkIyTE1CIiwibmFtZSI6ImJlbGZyeS11c2VyIiwic3ViIjoiVUFXS\
        lhHU0MyVjVONzdLUTQzVlIzSktEMzJKMjNGNlROV0xXMktSTFM0MjZPRkJQSDY0RlRTTDIiLCJuYXRzIjp7InR5cGUiOiJ1c2VyI\
        iwidmVyc2lvbiI6Miwic3VicyI6LTEsImRhdGEiOi0xLCJwYXlsb2FkIjotMX0sImp0aSI6IjZZQktGQkIzM1hHWEU2S1pTWUdWU\
        EtMUTIzVlZSNFJMRkFWSEpTUDI0TU9WVVk2V0lMRUEifQ.ii6c3jOSFgBA5MiTOpFxndzZvvU1WFpVZzOMHjtejO3NHW8WtwvI7O\
        lwvZRCt7383gfZeQm36TjLWDDgB552CQ
        """
    static let userSeed = "SUAHK5LVOV2XK5LVOV2XK5LVOV2XK5LVOV2XK5LVOV2XK5LVOV2XK5MT74"
    static let userKey = "UAWJXGSC2V5N77KQ43VR3JKD32J23F6TNWLW2KRLS426OFBPH64FTSL2"
    /// The seed of another user.
    static let otherSeed = "SUAHM5TWOZ3HM5TWOZ3HM5TWOZ3HM5TWOZ3HM5TWOZ3HM5TWOZ3HM5SS7A"

    /// A server's configuration that knows the account.
    static let configuration = """
        operator: \(operatorToken)
        resolver: MEMORY
        resolver_preload: { \(account): \(accountToken) }
        """

    /// The content of a credentials file.
    ///
    /// - Parameter seed: The seed with which the client signs; nil for the user's.
    static func credentials(seed: String? = nil) -> String {
        """
        -----BEGIN NATS USER JWT-----
        \(userToken)
        ------END NATS USER JWT------

        -----BEGIN USER NKEY SEED-----
        \(seed ?? userSeed)
        ------END USER NKEY SEED------
        """
    }
}
