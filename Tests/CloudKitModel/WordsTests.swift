import CloudKitModel
import Testing

struct WordsTests {
    @Test func scopesHaveTheirWireCodes() {
        // reference: ck.qry.dbs is 1 private, 2 public, 3 shared
        #expect(DatabaseScope.allCases.map(\.rawValue) == [1, 2, 3])
        #expect(DatabaseScope.allCases.map { "\($0.word)" } == ["private", "public", "shared"])
        #expect(ContainerEnvironment.production.rawValue == 1 && ContainerEnvironment.development.rawValue == 2)
        #expect(RecordChange.allCases.map { "\($0.word)" } == ["create", "update", "delete"])
    }

    @Test(arguments: DatabaseScope.allCases)
    func aWordIsReadBackAsItself(scope: DatabaseScope) throws {
        _ = try error(in: "\"\(scope.word)\"") { json throws(ModelError) in #expect(try DatabaseScope(json) == scope) }
    }

    @Test(arguments: ContainerEnvironment.allCases)
    func anEnvironmentIsReadBackAsItself(environment: ContainerEnvironment) throws {
        _ = try error(in: "\"\(environment.word)\"") { json throws(ModelError) in
            #expect(try ContainerEnvironment(json) == environment)
        }
    }

    @Test(arguments: [1, 255])
    func aNameHasUpTo255Bytes(length: Int) throws {
        let name = String(repeating: "n", count: length)
        #expect(try error(in: "\"\(name)\"") { json throws(ModelError) in try NameRule.recordName.check(json) } == nil)
    }

    @Test func aNameOf256BytesIsTooLong() throws {
        let name = String(repeating: "n", count: 256)
        #expect(
            try error(in: "\"\(name)\"") { json throws(ModelError) in try NameRule.recordName.check(json) }
                == ModelError("name.length", "a record name has 1 to 255 bytes, not 256"))
    }

    @Test func pathsJoinKeysAndIndexes() {
        let error = ModelError("c", "r").under("[3]").under("desiredKeys").under("notificationInfo")
        #expect(error.path == "notificationInfo.desiredKeys[3]")
    }
}
