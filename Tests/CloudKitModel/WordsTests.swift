import CloudKitModel
import Testing

struct WordsTests {
    @Test func `databases and environments have CloudKit's codes, and databases and changes have CloudKit's words`() {
        // In captured pushes, ck.qry.dbs is 1 for private, 2 for public and 3 for shared.
        #expect(DatabaseScope.allCases.map(\.rawValue) == [1, 2, 3])
        #expect(DatabaseScope.allCases.map { "\($0.word)" } == ["private", "public", "shared"])
        #expect(ContainerEnvironment.production.rawValue == 1 && ContainerEnvironment.development.rawValue == 2)
        #expect(RecordChange.allCases.map { "\($0.word)" } == ["create", "update", "delete"])
    }

    @Test(arguments: DatabaseScope.allCases)
    func `a database's word is read back as the same database`(scope: DatabaseScope) throws {
        let refusal = try error(in: "\"\(scope.word)\"") { json throws(ModelError) in
            #expect(try DatabaseScope(json) == scope)
        }
        #expect(refusal == nil)
    }

    @Test(arguments: ContainerEnvironment.allCases)
    func `an environment's word is read back as the same environment`(environment: ContainerEnvironment) throws {
        let refusal = try error(in: "\"\(environment.word)\"") { json throws(ModelError) in
            #expect(try ContainerEnvironment(json) == environment)
        }
        #expect(refusal == nil)
    }

    @Test(arguments: [1, 255])
    func `a record name of 1 or 255 bytes is accepted`(length: Int) throws {
        let name = String(repeating: "n", count: length)
        #expect(try error(in: "\"\(name)\"") { json throws(ModelError) in try NameRule.recordName.check(json) } == nil)
    }

    @Test func `a record name of 256 bytes is too long`() throws {
        let name = String(repeating: "n", count: 256)
        #expect(
            try error(in: "\"\(name)\"") { json throws(ModelError) in try NameRule.recordName.check(json) }
                == ModelError("name.length", "a record name has 1 to 255 bytes, not 256"))
    }

    @Test func `the path of an error joins keys and indexes`() {
        let error = ModelError("c", "r").under("[3]").under("desiredKeys").under("notificationInfo")
        #expect(error.path == "notificationInfo.desiredKeys[3]")
    }
}
